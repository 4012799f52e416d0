/** Every document of the tree, read once, with its headings and links. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { lexer, type Token, type Tokens, walkTokens } from 'marked'

const ROOT = join(import.meta.dirname, '../../..')

export interface Page {
  /** In the tree: `dataplane/docs/errors.md`. */
  readonly file: string
  readonly title: string
  readonly tokens: readonly Token[]
  /** Anchors of its headings, in their order. */
  readonly anchors: readonly string[]
}

export function readPages(): Page[] {
  const listed = execFileSync('git', ['ls-files', '*.md'], { cwd: ROOT, encoding: 'utf8' })
  const files = listed
    .split('\n')
    .filter((file) => file !== '' && !file.startsWith('test/fixtures/'))
  return files.map(readPage)
}

function readPage(file: string): Page {
  const tokens = lexer(readFileSync(join(ROOT, file), 'utf8'))
  const headings = tokens
    .filter((token) => token.type === 'heading')
    .map((token) => plainText(token))
  return { file, title: headings[0] ?? file, tokens, anchors: anchorsOf(headings) }
}

/** Like repositories of Markdown: a second heading with the same text gets `-1`. */
function anchorsOf(headings: readonly string[]): string[] {
  const seen = new Map<string, number>()
  return headings.map((text) => {
    const anchor = anchorOf(text)
    const count = seen.get(anchor) ?? 0
    seen.set(anchor, count + 1)
    return count === 0 ? anchor : `${anchor}-${count}`
  })
}

export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

function plainText(token: Token): string {
  if ('tokens' in token && token.tokens !== undefined) return token.tokens.map(plainText).join('')
  return 'text' in token ? token.text : ''
}

export function linksOf({ tokens }: Page): string[] {
  const links: string[] = []
  walkTokens([...tokens], (token) => {
    if (token.type === 'link' || token.type === 'image') links.push(token.href)
  })
  return links
}

/** A link within the tree as a path from its root and an anchor; undefined for one that leaves the tree. */
export function placeOf(
  link: string,
  { file }: Page,
): { file: string; anchor: string } | undefined {
  if (/^[a-z]+:/.test(link)) return undefined
  const [path = '', anchor = ''] = link.split('#')
  return { file: path === '' ? file : normalize(join(dirname(file), path)), anchor }
}

/** The lines of blocks that a reader pastes into a shell, with continued lines joined. */
export function shellLines({ tokens }: Page): string[] {
  const blocks: string[] = []
  walkTokens([...tokens], (token) => {
    const { type, lang = '', text } = token as Tokens.Code
    if (type === 'code' && ['', 'sh', 'bash', 'console'].includes(lang)) blocks.push(text)
  })
  return blocks.flatMap((block) => block.replaceAll('\\\n', ' ').split('\n'))
}
