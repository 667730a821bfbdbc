import pytest
import tangere as tg
from support import ZOO


@pytest.fixture
def zoo() -> tg.Model:
    """A model with one of everything."""
    return tg.load_string(ZOO)
