/**
 * Elements as values, and a page that becomes equal to them. Every text becomes a text node and nothing is ever parsed as
 * HTML, so that a name of a tenant or a model is shown as it is written.
 */
const SVG = 'http://www.w3.org/2000/svg'

/** `attributes` with `on…` are handlers; those that are undefined or false are left out. */
export function h(tag, attributes, ...children) {
  return { tag, attributes: attributes ?? {}, children: flat(children) }
}

/** Makes the children of an element equal to these; what is equal already stays, with its focus and its scroll. */
export function render(parent, ...children) {
  patchChildren(parent, flat(children))
}

function flat(children) {
  return children
    .flat(9)
    .filter((child) => child !== undefined && child !== null && child !== false && child !== '')
    .map((child) => (typeof child === 'object' ? child : String(child)))
}

function patchChildren(parent, wanted) {
  const there = [...parent.childNodes]
  for (const [index, want] of wanted.entries()) {
    const node = there[index]
    if (node === undefined) parent.append(created(want, parent))
    else if (typeof want === 'string' && node.nodeType === Node.TEXT_NODE) {
      if (node.data !== want) node.data = want
    } else if (isSame(node, want)) patch(node, want)
    else node.replaceWith(created(want, parent))
  }
  for (const node of there.slice(wanted.length)) node.remove()
}

function isSame(node, want) {
  if (typeof want === 'string' || node.nodeType !== Node.ELEMENT_NODE) return false
  return (
    node.localName === want.tag && (node.dataset?.key ?? '') === (want.attributes['data-key'] ?? '')
  )
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
    else if (node.getAttribute(name) !== String(value === true ? '' : value))
      node.setAttribute(name, value === true ? '' : value)
  }
  patchChildren(node, children)
}
