// Evaluated in a world of its own, which scripts of the page cannot reach. The document as HTML: open shadow roots
// and frames of the same origin are written where they stand, and what a reader typed or chose is kept.
(limit) => {
  "use strict";
  const ELEMENT = 1, TEXT = 3, COMMENT = 8, DOCUMENT_TYPE = 10;
  const VOID = new Set("area base br col embed hr img input link meta param source track wbr".split(" "));
  const RAW = new Set("script style xmp iframe noembed noframes plaintext noscript".split(" "));
  const parts = [];
  let size = 0;
  const put = (text) => {
    size += text.length;
    if (size > limit) throw new RangeError("too large");
    parts.push(text);
  };
  const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/\u00a0/g, "&nbsp;");
  const quoted = (text) => text.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/\u00a0/g, "&nbsp;");
  const children = (node) => {
    if (node.localName === "slot" && node.getRootNode() instanceof ShadowRoot) {
      const assigned = node.assignedNodes();
      return assigned.length ? assigned : node.childNodes;
    }
    return node.shadowRoot ? node.shadowRoot.childNodes : node.childNodes;
  };
  const framed = (element) => {
    try {
      return element.contentDocument && element.contentDocument.body;
    } catch {
      return null;
    }
  };
  const open = (element) => {
    put("<" + element.localName);
    for (const { name, value } of element.attributes) put(" " + name + '="' + quoted(value) + '"');
    put(">");
  };
  // Without recursion: pages nest as deep as they like.
  const stack = [{ nodes: [document.doctype, document.documentElement].filter(Boolean), at: 0, end: "" }];
  while (stack.length) {
    const top = stack[stack.length - 1];
    if (top.at >= top.nodes.length) {
      put(top.end);
      stack.pop();
      continue;
    }
    const node = top.nodes[top.at++];
    if (node.nodeType === DOCUMENT_TYPE) put("<!DOCTYPE " + node.name + ">");
    else if (node.nodeType === COMMENT) put("<!--" + node.data.replace(/--!?>/g, "") + "-->");
    else if (node.nodeType === TEXT) put(RAW.has(node.parentNode && node.parentNode.localName) ? node.data : escaped(node.data));
    else if (node.nodeType === ELEMENT) {
      const name = node.localName;
      const inner = (name === "iframe" || name === "frame") && framed(node);
      if (inner) {
        put('<div data-orbweb-frame="' + quoted(node.src || "") + '">');
        stack.push({ nodes: inner.childNodes, at: 0, end: "</div>" });
        continue;
      }
      open(node);
      if (VOID.has(name)) continue;
      const content = name === "template" ? node.content.childNodes : children(node);
      stack.push({ nodes: content, at: 0, end: "</" + name + ">" });
    }
  }
  return parts.join("");
}
