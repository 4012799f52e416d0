/** A page as HTML, next to a list of all pages. No script, and nothing from other origins. */
import { dirname, join, relative } from 'node:path'
import { Marked, parser, type Tokens } from 'marked'
import { type Page, placeOf } from './pages.ts'

const FRONT = 'README.md'

/** The path of the page in the site: `dataplane/docs/errors.html`. */
export function addressOf(file: string): string {
  return file === FRONT ? 'index.html' : file.replace(/\.md$/, '.html')
}

export function renderPage(page: Page, pages: readonly Page[]): string {
  const known = new Set(pages.map(({ file }) => file))
  const here = dirname(addressOf(page.file))
  const to = (file: string) => relative(here, addressOf(file)) || addressOf(file)
  const anchors = page.anchors.values()
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }: Tokens.Heading) {
        const id = anchors.next().value ?? ''
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href, tokens }: Tokens.Link) {
        const text = this.parser.parseInline(tokens)
        const place = placeOf(href, page)
        if (place === undefined) return `<a href="${escapeHtml(href)}">${text}</a>`
        // A folder or a file of code has no page: its name stays.
        if (!known.has(place.file)) return text
        const anchor = place.anchor === '' ? '' : `#${place.anchor}`
        return `<a href="${to(place.file)}${anchor}">${text}</a>`
      },
      image: ({ href, text }: Tokens.Image) => {
        const file = relative(here, placeOf(href, page)?.file ?? href)
        return `<img src="${escapeHtml(file)}" alt="${escapeHtml(text)}">`
      },
    },
  })
  return layout({
    title: page.title,
    style: join(relative(here, '.'), 'style.css'),
    list: listOf(pages, page, to),
    content: parser([...page.tokens], marked.defaults),
  })
}

/** All pages by folder, the front page first. */
function listOf(pages: readonly Page[], open: Page, to: (file: string) => string): string {
  const folders = Map.groupBy(pages, ({ file }) => file.split('/')[0]?.replace(/\.md$/, '') ?? '')
  const item = (page: Page) => {
    const current = page === open ? ' aria-current="page"' : ''
    return `<li><a href="${to(page.file)}"${current}>${escapeHtml(page.title)}</a></li>`
  }
  const single = pages.filter(({ file }) => !file.includes('/'))
  single.sort((one, other) => Number(other.file === FRONT) - Number(one.file === FRONT))
  const groups = [...folders].filter(([, [first]]) => first?.file.includes('/'))
  return [
    `<ul>${single.map(item).join('')}</ul>`,
    ...groups.map(([name, of]) => `<h2>${escapeHtml(name)}</h2><ul>${of.map(item).join('')}</ul>`),
  ].join('\n')
}

interface Layout {
  readonly title: string
  readonly style: string
  readonly list: string
  readonly content: string
}

const layout = ({ title, style, list, content }: Layout) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} - gw</title>
<link rel="stylesheet" href="${style}">
</head>
<body>
<nav aria-label="Pages">${list}</nav>
<main>${content}</main>
</body>
</html>
`

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
