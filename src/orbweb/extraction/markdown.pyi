from orbweb.model import Heading
from orbweb.parsing.html.tree import Tree

class Rendered:
    @property
    def markdown(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def headings(self) -> tuple[Heading, ...]: ...

def render(
    tree: Tree, element: int, base: str, classes: frozenset[str], links: bool = True, images: bool = True
) -> Rendered: ...
