/** Commands with what they print, as a page of the documents shows them between two marks. */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gw } from '../helpers/gw-here.ts'

const ROOT = join(import.meta.dirname, '../..')

export class Transcript {
  readonly #folder: string
  readonly #page: string
  readonly #name: string
  readonly #parts: string[] = []

  /** The marks on the page have this name; names of files are shown without the folder. */
  constructor(folder: string, page = 'cli/docs/moving.md', name = 'the move') {
    this.#folder = folder
    this.#page = join(ROOT, page)
    this.#name = name
  }

  /** Its seconds are those of this machine. */
  add(command: string, output: string, seconds?: number): void {
    const shown = output.replaceAll(`${this.#folder}/`, '').trimEnd()
    const taken = seconds === undefined ? [] : [`# ${seconds.toFixed(1)} s`]
    this.#parts.push([...taken, `$ ${command}`, ...(shown === '' ? [] : [shown])].join('\n'))
  }

  /** Runs the tool; names of files are those of the folder. */
  async run(...words: readonly string[]): Promise<void> {
    const isFile = /\.(yaml|csv)$/
    const args = words.map((word) => (isFile.test(word) ? join(this.#folder, word) : word))
    const { code, stdout, stderr } = await gw(...args)
    assert.equal(code, 0, stderr)
    this.add(['gw', ...words].join(' '), stdout + stderr)
  }

  async write(): Promise<void> {
    const start = `<!-- generated: ${this.#name} -->`
    const end = `<!-- end of ${this.#name} -->`
    const text = await readFile(this.#page, 'utf8')
    const [before, rest] = text.split(start)
    const after = rest?.split(end)[1]
    assert.ok(before !== undefined && after !== undefined, `${this.#page} has no ${start} … ${end}`)
    const block = `\`\`\`\n${this.#parts.join('\n\n')}\n\`\`\``
    await writeFile(this.#page, `${before}${start}\n\n${block}\n\n${end}${after}`)
  }
}
