/** `make site`: every document of the tree as a page in `.cache/site`, for reading or serving. */
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { linksOf, type Page, placeOf, readPages } from './pages.ts'
import { addressOf, renderPage } from './render.ts'

const ROOT = join(import.meta.dirname, '../../..')
const FOLDER = join(ROOT, '.cache/site')

if (import.meta.main) {
  rmSync(FOLDER, { recursive: true, force: true })
  const pages = readPages()
  for (const page of pages) {
    write(addressOf(page.file), renderPage(page, pages))
    for (const image of imagesOf(page)) {
      mkdirSync(dirname(join(FOLDER, image)), { recursive: true })
      copyFileSync(join(ROOT, image), join(FOLDER, image))
    }
  }
  copyFileSync(join(import.meta.dirname, 'style.css'), join(FOLDER, 'style.css'))
  process.stdout.write(`${pages.length} pages: ${join(FOLDER, 'index.html')}\n`)
}

function write(name: string, text: string): void {
  const file = join(FOLDER, name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

function imagesOf(page: Page): string[] {
  const files = linksOf(page).map((link) => placeOf(link, page)?.file ?? '')
  return files.filter((file) => /\.(png|svg|webp)$/.test(file) && existsSync(join(ROOT, file)))
}
