/** `make site`: the documents of the tree as a site that any server of files can serve, made by VitePress. */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'vitepress'
import type { SiteOptions } from './config.ts'
import { groupsOf, homePage, sourceOf } from './outline.ts'
import { linksOf, type Page, placeOf, readPages } from './pages.ts'
import { serveSite } from './serve.ts'
import { siteText } from './site-text.ts'

const ROOT = join(import.meta.dirname, '../../..')

/** The site in a folder, and its number of pages. */
export async function buildSite(folder: string, options: SiteOptions): Promise<number> {
  const groups = groupsOf(readPages())
  const pages = groups.flatMap((group) => group.pages)
  mkdirSync(join(ROOT, '.cache'), { recursive: true })
  // Within the tree: the pages import what VitePress brings.
  const source = mkdtempSync(join(ROOT, '.cache/site-source-'))
  const write = (name: string, text: string) => {
    const file = join(source, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  try {
    // Without the settings of this tree's own code, which its compiler does not know.
    write('tsconfig.json', '{}')
    write('index.md', homePage(groups))
    for (const page of pages) {
      write(sourceOf(page.file), siteText(page.file))
      for (const image of imagesOf(page)) {
        write(image, '')
        copyFileSync(join(ROOT, image), join(source, image))
      }
    }
    const settings = join(import.meta.dirname, 'config.ts')
    write(
      '.vitepress/config.mjs',
      `const { siteConfig } = await import(${JSON.stringify(settings)})
const config = siteConfig(${JSON.stringify(options)})
export { config as default }\n`,
    )
    await build(source, { outDir: folder })
  } finally {
    rmSync(source, { recursive: true, force: true })
  }
  return pages.length
}

function imagesOf(page: Page): string[] {
  const files = linksOf(page).map((link) => placeOf(link, page)?.file ?? '')
  return files.filter((file) => /\.(png|svg|webp)$/.test(file) && existsSync(join(ROOT, file)))
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      to: { type: 'string', default: join(ROOT, '.cache/site') },
      serve: { type: 'boolean', default: false },
      base: { type: 'string', default: '/' },
      version: { type: 'string', multiple: true, default: [] },
    },
  })
  const versions = Object.fromEntries(values.version.map((one) => one.split('=', 2)))
  const folder = resolve(values.to)
  const count = await buildSite(folder, { base: values.base, versions })
  process.stdout.write(`${count} pages: ${folder}\n`)
  if (values.serve) {
    const { url } = await serveSite(folder)
    process.stdout.write(`Read them at ${url}. Ctrl-C stops this server.\n`)
  } else
    process.stdout.write('Any server of files can serve them; `make site SERVE=1` starts one.\n')
}
