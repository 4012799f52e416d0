/** The Markdown of the tree as the site needs it: links between pages, boxes to tick, and no text that is a template. */
import type { MarkdownRenderer } from 'vitepress'
import { addressOf, sourceOf } from './outline.ts'
import { type Page, placeOf } from './pages.ts'

type Token = ReturnType<MarkdownRenderer['parse']>[number]

export function asInTheTree(markdown: MarkdownRenderer, pages: readonly Page[]): void {
  const bySource = new Map(pages.map((page) => [sourceOf(page.file), page]))
  const files = new Set(pages.map(({ file }) => file))
  markdown.core.ruler.push('links-of-the-tree', ({ tokens, env }) => {
    const page = bySource.get(env.relativePath)
    if (page === undefined) return
    for (const token of tokens) {
      linked(token.children ?? [], page, files)
      // An indented block scrolls and is copied like a fenced one.
      if (token.type === 'code_block') token.type = 'fence'
    }
  })
  const { text } = markdown.renderer.rules
  markdown.renderer.rules.text = (...args) =>
    (text?.(...args) ?? '').replaceAll('{{', '&#123;&#123;').replace(/^\[ \] /, '☐ ')
}

function linked(tokens: readonly Token[], page: Page, files: ReadonlySet<string>): void {
  // Links do not nest.
  let isHidden = false
  for (const token of tokens) {
    if (token.type === 'link_open') {
      const href = token.attrGet('href') ?? ''
      // Within the page it stays: the search finds headings by such links.
      const place = href.startsWith('#') ? undefined : placeOf(href, page)
      isHidden = place !== undefined && !files.has(place.file)
      if (place !== undefined && !isHidden)
        token.attrSet('href', addressOf(place.file) + (place.anchor && `#${place.anchor}`))
    }
    // A folder, a file of code or a page of the tests: its name stays.
    if (isHidden && token.type.startsWith('link_')) {
      token.hidden = true
      token.tag = 'span'
      token.attrs = null
    }
    if (token.type === 'link_close') isHidden = false
  }
}
