/** The settings of VitePress: search, versions, page contents, order of pages. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DefaultTheme, UserConfig } from 'vitepress'
import { asInTheTree } from './links.ts'
import { addressOf, type Group, groupsOf, nameOf } from './outline.ts'
import { anchorOf, type Page, readPages } from './pages.ts'

const ROOT = join(import.meta.dirname, '../../..')

export interface SiteOptions {
  /** The path at which a server has the site. */
  readonly base: string
  /** Where the sites of other versions are. */
  readonly versions: Readonly<Record<string, string>>
}

export function siteConfig({ base, versions }: SiteOptions): UserConfig<DefaultTheme.Config> {
  const groups = groupsOf(readPages())
  const pages = groups.flatMap((group) => group.pages)
  return {
    base,
    title: 'gw',
    description: 'An inference gateway',
    lang: 'en',
    head: [['link', { rel: 'icon', href: 'data:,' }]],
    markdown: {
      linkify: false,
      anchor: { slugify: anchorOf },
      config: (markdown) => asInTheTree(markdown, pages),
    },
    themeConfig: {
      search: { provider: 'local' },
      outline: [2, 3],
      externalLinkIcon: true,
      nav: [...navigation(groups), versionMenu(pages, versions)],
      sidebar: groups.map(({ name, pages: of }, index) => ({
        text: name,
        // Guides, overview and what callers need are open.
        collapsed: index > 2,
        items: of.map((page) => ({ text: inHtml(nameOf(page)), link: addressOf(page.file) })),
      })),
    },
    // It warns of the one large chunk, the index of the search, which a page loads when its reader searches.
    vite: { build: { chunkSizeWarningLimit: 4000 } },
  }
}

function navigation(groups: readonly Group[]): DefaultTheme.NavItem[] {
  const first = (name: string, text = name) =>
    groups
      .filter((group) => group.name === name)
      .map(({ pages: [page] }) => ({ text, link: addressOf(page?.file ?? '') }))
  return [...first('Guides'), ...first('Calling it', 'Reference')]
}

/** This version with its changes, the other versions' sites, and what changed in each release. */
function versionMenu(
  pages: readonly Page[],
  versions: SiteOptions['versions'],
): DefaultTheme.NavItem {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    version: string
  }
  const changes = pages.find(({ file }) => file === 'CHANGELOG.md')
  const releases = changes?.anchors.flatMap((anchor, index) => {
    const token = changes.tokens.filter(({ type }) => type === 'heading')[index]
    const release = /^## (\d+\.\d+\.\d+)/.exec(token?.raw ?? '')?.[1]
    return release === undefined ? [] : [{ release, anchor }]
  })
  const items = (releases ?? []).map(({ release, anchor }) => ({
    text: release,
    link: `${addressOf('CHANGELOG.md')}#${anchor}`,
  }))
  const others = Object.entries(versions).map(([text, link]) => ({ text, link }))
  const groups = [
    { text: 'Other versions', items: others },
    { text: 'Changes in', items },
  ]
  return { text: version, items: groups.filter((group) => group.items.length > 0) }
}

function inHtml(title: string): string {
  return title.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
