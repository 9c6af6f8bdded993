"""What the machine touches of other projects that they do not document."""

from sphinx_proof.nodes import NODE_TYPES, unenumerable_node

STATEMENTS = (*NODE_TYPES.values(), unenumerable_node)  # the nodes of theorems and the like
