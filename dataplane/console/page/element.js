/**
 * Elements as values, and a page that is updated to match them. Every text becomes a text node and is never parsed as
 * HTML, so that a name of a tenant or a model is shown as written.
 */
const SVG = 'http://www.w3.org/2000/svg'

/** `attributes` with `on…` are handlers; undefined and false ones are left out. */
export function h(tag, attributes, ...children) {
  return { tag, attributes: attributes ?? {}, children: flat(children) }
}

/** Makes the children of an element match these; equal ones stay, with their focus and scroll position. */
export function render(parent, ...children) {
  patchChildren(parent, flat(children))
}

function flat(children) {
  return children
    .flat(9)
    .filter((child) => child !== undefined && child !== null && child !== false && child !== '')
    .map((child) => (typeof child === 'object' ? child : String(child)))
}

/** An element with a key keeps its place in the page, so that new ones before it do not take the focus away. */
function patchChildren(parent, wanted) {
  const kept = new Set(wanted.map(keyOf))
  let node = parent.firstChild
  for (const want of wanted) {
    while (node !== null && isGone(node, kept)) node = removed(node)
    if (node !== null && isSame(node, want)) {
      if (typeof want !== 'string') patch(node, want)
      else if (node.data !== want) node.data = want
      node = node.nextSibling
    } else {
      parent.insertBefore(created(want, parent), node)
      if (node !== null && keyOf(want) === '') node = removed(node)
    }
  }
  while (node !== null) node = removed(node)
}

function keyOf(want) {
  return want.attributes?.['data-key'] ?? ''
}

function isGone({ dataset }, kept) {
  return dataset?.key !== undefined && !kept.has(dataset.key)
}

function removed(node) {
  const next = node.nextSibling
  node.remove()
  return next
}

function isSame(node, want) {
  if (typeof want === 'string') return node.nodeType === Node.TEXT_NODE
  return node.localName === want.tag && (node.dataset?.key ?? '') === keyOf(want)
}

function created(want, parent) {
  if (typeof want === 'string') return document.createTextNode(want)
  const isSvg =
    want.tag === 'svg' || (parent.namespaceURI === SVG && parent.localName !== 'foreignObject')
  const node = isSvg ? document.createElementNS(SVG, want.tag) : document.createElement(want.tag)
  patch(node, want)
  return node
}

function patch(node, { attributes, children }) {
  for (const { name } of [...node.attributes]) {
    if (attributes[name] === undefined || attributes[name] === false) {
      // A person opens and closes it.
      if (name !== 'open') node.removeAttribute(name)
    }
  }
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) node[name] = value
    else if (value === undefined || value === false) continue
    // The attribute of a field does not change the typed text.
    else if (name === 'value') node.value = value
    else if (node.getAttribute(name) !== String(value === true ? '' : value))
      node.setAttribute(name, value === true ? '' : value)
  }
  patchChildren(node, children)
}
