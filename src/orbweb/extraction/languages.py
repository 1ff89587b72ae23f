"""Names of programming languages as pages write them, accepted without a prefix such as `language-`."""

from __future__ import annotations

_KNOWN = """
abap actionscript ada adoc agda antlr apache applescript arduino armasm asciidoc asm assembly autohotkey awk
bash basic bat batch bibtex bicep blade bnf c c# c++ cfg clojure cmake cmd cobol coffee coffeescript
common-lisp commonlisp conf console cpp crystal cs csh csharp css csv ctags cuda cue cxx cython d dart
delphi diff django docker dockerfile dos dot dotenv ebnf eex elisp elixir elm emacs-lisp erb erl erlang f#
fish forth fortran fsharp gdb gdscript gherkin git gitignore glsl gnuplot go golang gradle graphql graphviz
groovy h haml handlebars haskell haxe hcl heex heredoc hjson hlsl hocon hpp hs html html+django html+erb
html+jinja http hy iex ini ipython ipython3 irb java javascript jinja jinja2 jq js json json5 jsonc jsonnet
jsp jsx julia kotlin kql ksh kt latex less liquid lisp llvm lua make makefile mariadb markdown mathematica
matlab mdx mermaid meson mips mixed ml mojo mysql nasm nginx nim nix nix-shell nushell obj-c objc
objective-c objectivec ocaml octave odin pascal patch perl pgsql php pkgconfig pl plantuml plpgsql po
postgres postgresql powershell prolog promql properties proto protobuf ps1 psql pug puppet purescript pwsh
py py3 pycon pytb python python3 q qml r racket raku rb re reason rest rexx rs rst ruby rust sas sass scala
scheme scss sed sh shell shell-session shellscript smalltalk sml solidity sparql sql sqlite starlark stylus
svelte svg swift systemd systemverilog tcl tcsh terraform tex texinfo text textile thrift toml ts tsql tsx
turtle twig txt typescript v vala vb vb.net vba vbnet verilog vhdl vim viml vimscript vue wasm wast wat wgsl
wsdl xhtml xml xquery xsl xslt yacc yaml yaml+jinja yml zig zsh
"""
_NO_LANGUAGE = """
auto basic-html block box code console-output container copy default example guess highlight
highlighter-rouge line-numbers lines listing literal-block no-highlight nohighlight none notranslate null
numbers output plain plaintext raw selector source switch switcher undefined unknown wrapper x-none
"""
_TONGUES = """
af am ar az be bg bn bs ca cs cy da de el en eo es et eu fa fi fr ga gl gu he hi hr hu hy id is it ja ka kk km kn
ko ky la lt lv mk mn mr ms my nb ne nl nn no pa pl pt ro ru si sk sl so sq sr sw ta te th tl tr uk ur uz vi zh zu
"""
KNOWN = frozenset(_KNOWN.split())
NO_LANGUAGE = frozenset(_NO_LANGUAGE.split())
"""Words in place of a language that are not languages."""
TONGUES = frozenset(_TONGUES.split())
"""Two-letter codes of natural languages, without those that are also programming languages, such as `md` and
`tf`."""
