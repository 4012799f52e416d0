/** The pages of the site in their order: guides first, reference behind them, nothing of the tests. */
import { basename } from 'node:path'
import type { Page } from './pages.ts'

export interface Group {
  readonly name: string
  readonly pages: readonly Page[]
}

const GUIDES = 'cli/docs/guides/'
const MOVING = 'cli/docs/moving.md'
/** The order of the guides. One that is not here comes last; one that is not in the tree is left out. */
const GUIDE_ORDER = [
  ...['first-hour', 'clients', 'moving', 'keys-and-budgets', 'at-night'],
  ...['gpus', 'high-availability', 'upgrade', 'proxies', 'traces', 'security', 'alerts'],
]
const DATAPLANE = 'dataplane/docs/'
const CALLING = ['api', 'models', 'errors', 'streams', 'bodies', 'clients', 'client-sessions']
const OPERATING = ['pod', 'metrics', 'tracing', 'usage', 'console', 'admin', 'clocks']

const isGuide = (file: string) => file.startsWith(GUIDES) || file === MOVING
const isIn = (folder: string) => (file: string) => file.startsWith(folder)
const named = (names: readonly string[]) => (file: string) =>
  file.startsWith(DATAPLANE) && names.includes(basename(file, '.md'))

/** A page belongs to the first group that takes it. */
const GROUPS: readonly (readonly [string, (file: string) => boolean])[] = [
  ['Guides', isGuide],
  ['Overview', (file) => ['README.md', 'CHANGELOG.md', 'SECURITY.md'].includes(file)],
  ['Calling it', named(CALLING)],
  ['Operating it', named(OPERATING)],
  ['Settings', isIn(DATAPLANE)],
  ['Providers', isIn('dataplane/providers/')],
  ['The tool', isIn('cli/')],
  ['Kubernetes', (file) => /^(charts|operator|crds)\//.test(file)],
  ['How it works', isIn('dataplane/')],
]

/** Pages for people who change the code. A link to one shows its name alone. */
const ABSENT = [
  /^test\/|^CONTRIBUTING\.md$/,
  /^dataplane\/(config|console)\/README\.md$/,
  /^dataplane\/docs\/console\/report\.md$/,
]

export function groupsOf(pages: readonly Page[]): Group[] {
  const shown = pages.filter(({ file }) => !ABSENT.some((one) => one.test(file)))
  const byName = Map.groupBy(shown, ({ file }) => GROUPS.find(([, takes]) => takes(file))?.[0])
  return GROUPS.flatMap(([name]) => {
    const found = byName.get(name) ?? []
    if (found.length === 0) return []
    return [{ name, pages: found.toSorted((one, other) => placeIn(one) - placeIn(other)) }]
  })
}

function placeIn({ file }: Page): number {
  const name = basename(file, '.md')
  const order = isGuide(file) ? GUIDE_ORDER : ['README', ...CALLING, ...OPERATING]
  const place = order.indexOf(name)
  return place < 0 ? order.length : place
}

/** A page's name in the list of all. */
export function nameOf({ file, title }: Page): string {
  return file === 'README.md' ? 'About gw' : title
}

/** The page's path in the site's source: a folder's README is the page of its folder. */
export function sourceOf(file: string): string {
  return file === 'README.md' ? 'overview.md' : file.replace(/README\.md$/, 'index.md')
}

/** The page's path in the site, from its root. */
export function addressOf(file: string): string {
  return `/${sourceOf(file)}`.replace(/index\.md$/, '').replace(/\.md$/, '.html')
}

/** The first page: the guides, each with its first sentence. */
export function homePage(groups: readonly Group[]): string {
  const [guides] = groups
  const card = (page: Page) => ({
    title: page.title,
    details: firstSentence(page),
    link: addressOf(page.file),
  })
  const actions = [
    { theme: 'brand', text: 'First hour', link: addressOf(`${GUIDES}first-hour.md`) },
    { theme: 'alt', text: 'Overview', link: addressOf('README.md') },
  ]
  const hero = {
    name: 'gw',
    text: 'An inference gateway',
    tagline: 'Keys, limits, budgets, routing and streams in front of model servers.',
    actions: actions.filter(({ link }) =>
      groups.some(({ pages }) => pages.some(({ file }) => addressOf(file) === link)),
    ),
  }
  const features = guides?.pages.map(card) ?? []
  // JSON is YAML.
  return `---\n${JSON.stringify({ layout: 'home', hero, features })}\n---\n`
}

function firstSentence({ tokens }: Page): string {
  const text = tokens.find(({ type }) => type === 'paragraph')?.raw ?? ''
  const [sentence = ''] = /^.*?\.(?=\s|$)/s.exec(text) ?? []
  return sentence
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`_*]/g, '')
    .replaceAll(/\s+/g, ' ')
}
