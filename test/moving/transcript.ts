/** The commands of the move with what they print, as cli/docs/moving.md shows them. */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gw } from '../helpers/gw-here.ts'

const PAGE = join(import.meta.dirname, '../../cli/docs/moving.md')
const START = '<!-- generated: the move -->'
const END = '<!-- end of the move -->'

export class Transcript {
  readonly #folder: string
  readonly #parts: string[] = []

  constructor(folder: string) {
    this.#folder = folder
  }

  add(command: string, output: string): void {
    const shown = output.replaceAll(`${this.#folder}/`, '').trimEnd()
    this.#parts.push([`$ ${command}`, ...(shown === '' ? [] : [shown])].join('\n'))
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
    const text = await readFile(PAGE, 'utf8')
    const [before, rest] = text.split(START)
    const after = rest?.split(END)[1]
    assert.ok(before !== undefined && after !== undefined, `${PAGE} has no ${START} … ${END}`)
    const block = `\`\`\`\n${this.#parts.join('\n\n')}\n\`\`\``
    await writeFile(PAGE, `${before}${START}\n\n${block}\n\n${END}${after}`)
  }
}
