"""Every operation once: sample inputs, a reference, and what forms it has. The tests are made from this table.

To add an operation, add a row to its family's file; for an ordinary function of one or two tensors it is one line,
such as ``unary("sinh", np.sinh)``.
"""

from .activation import ACTIVATION
from .core import (
    ALL,
    BITS,
    FLOATS,
    HALVES,
    INTS,
    NUMBERS,
    PROMOTE,
    Const,
    Dtype,
    Error,
    Gen,
    Op,
    Sample,
    promote,
    result_dtype,
)
from .creation import CREATION
from .indexing import INDEXING
from .linalg import LINALG
from .losses import LOSSES
from .nn import NN
from .order import ORDER
from .pointwise import POINTWISE
from .products import PRODUCTS
from .random import RANDOM_OPS, SEED
from .reduce import REDUCE
from .shape import SHAPE
from .solve import SOLVE
from .special import SPECIAL
from .views import VIEWS
from .windows import WINDOWS

OPS: list[Op] = [
    *POINTWISE,
    *REDUCE,
    *VIEWS,
    *SHAPE,
    *INDEXING,
    *LINALG,
    *NN,
    *WINDOWS,
    *ACTIVATION,
    *LOSSES,
    *(op.but(halves=False) for op in CREATION),  # there is nothing given in a half type
    *RANDOM_OPS,
    *SPECIAL,
    *PRODUCTS,
    *ORDER,
    # PyTorch refuses half types for these; matrix_exp takes them, and so do norms of vectors.
    *(op.but(halves=op.short in ("matrix_exp", "vector_norm", "vecdot")) for op in SOLVE),
]
