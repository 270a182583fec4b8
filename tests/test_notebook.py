"""Rushlight in a notebook: a kernel runs cells, and messages name the cell that a source line stands in."""

import nbformat
import pytest
from nbclient import NotebookClient

CELLS = [
    "import rushlight.compat\n\nrushlight.compat.install()",
    "import torch\n\nprint(torch.__version__.endswith('+rushlight'), torch.tensor([1.5]))",
    "x = torch.ones(2, requires_grad=True)\ny = x.exp()\nz = (\n    y.sin()\n)",
    "y.mul_(2)\nz.sum().backward()",
    "loss = z.detach().requires_grad_().exp().sum()\nloss.backward()",
    "loss.backward()",
    "def double(x):\n    return x.exp()",
    "y = double(x)\ny[0] = 5\ny.sum().backward()",
    "from torch.utils.data import DataLoader, TensorDataset\n\n"
    "data = TensorDataset(torch.arange(8.0))\n"
    "print(sum(len(batch) for (batch,) in DataLoader(data, batch_size=2, num_workers=2)))",
]


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    folder = str(tmp_path_factory.mktemp("notebook"))
    client = NotebookClient(notebook, timeout=120, allow_errors=True, resources={"metadata": {"path": folder}})
    return client.execute().cells


def said(cell):
    return "".join(output.get("text", "") for output in cell.outputs)


def error(cell):
    return next((output.evalue for output in cell.outputs if output.output_type == "error"), None)


def test_cells_run(cells):
    assert said(cells[1]) == "True tensor([1.5000])\n"
    assert said(cells[8]) == "8\n"
    assert [number for number, cell in enumerate(cells, 1) if error(cell)] == [4, 6, 8]


@pytest.mark.parametrize(
    "number, place",
    [
        (4, "Cell In[3], line 4: y.sin()"),  # recorded in an earlier cell, inside a statement of several lines
        (6, "Cell In[5], line 1: loss = z.detach().requires_grad_().exp().sum()"),
        (8, "Cell In[7], line 2: return x.exp()"),  # in a function of another cell
    ],
)
def test_source_lines_name_the_cell(cells, number, place):
    message = error(cells[number - 1])
    assert place in message
    assert "ipykernel" not in message
