/** Small named texts that replicas share: a writer replaces the text that it has read, or learns that another was faster. */
import { readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isRecord, parsed } from '../../json/values.ts'

export interface Cell {
  readonly version: number
  readonly text: string
}

export interface Cells {
  /** Whether other processes share them. */
  readonly isShared: boolean
  /** undefined: nothing was written yet, which is version 0. Rejects if the store is away. */
  load(name: string): Promise<Cell | undefined>
  /** false: the cell no longer has that version. Rejects if the store is away. */
  swap(name: string, version: number, text: string): Promise<boolean>
  /** Resolves after everything has been written. */
  close(): Promise<void>
}

export class MemoryCells implements Cells {
  readonly isShared = false
  readonly #cells = new Map<string, Cell>()

  async load(name: string): Promise<Cell | undefined> {
    return this.#cells.get(name)
  }

  async swap(name: string, version: number, text: string): Promise<boolean> {
    if ((this.#cells.get(name)?.version ?? 0) !== version) return false
    this.#cells.set(name, { version: version + 1, text })
    return true
  }

  entries(): Iterable<[string, Cell]> {
    return this.#cells
  }

  restore(name: string, text: string): void {
    this.#cells.set(name, { version: 1, text })
  }

  async close(): Promise<void> {}
}

const FILE = 'rollouts.json'

/** The same in a file of `state_dir`, replaced as a whole, so that a kill leaves the former or the new one. */
export class FileCells implements Cells {
  readonly isShared = false
  readonly #path: string
  readonly #memory = new MemoryCells()
  #writing: Promise<void> | undefined
  #isChanged = false

  constructor(stateDir: string) {
    this.#path = join(stateDir, FILE)
    for (const [name, text] of Object.entries(textsIn(this.#path))) this.#memory.restore(name, text)
  }

  load(name: string): Promise<Cell | undefined> {
    return this.#memory.load(name)
  }

  async swap(name: string, version: number, text: string): Promise<boolean> {
    const isTaken = await this.#memory.swap(name, version, text)
    if (isTaken) {
      this.#isChanged = true
      this.#writing ??= this.#write()
    }
    return isTaken
  }

  async close(): Promise<void> {
    await this.#writing
  }

  async #write(): Promise<void> {
    while (this.#isChanged) {
      this.#isChanged = false
      const texts = [...this.#memory.entries()].map(([name, { text }]) => [name, text])
      const fresh = `${this.#path}.new`
      try {
        await writeFile(fresh, JSON.stringify(Object.fromEntries(texts)), { mode: 0o600 })
        await rename(fresh, this.#path)
      } catch {
        // The store reports a folder that cannot be written; the next change writes all texts again.
      }
    }
    this.#writing = undefined
  }
}

function textsIn(path: string): Record<string, string> {
  try {
    const value = parsed(readFileSync(path, 'utf8'))
    if (!isRecord(value)) return {}
    const texts = Object.entries(value).filter(([, text]) => typeof text === 'string')
    return Object.fromEntries(texts) as Record<string, string>
  } catch {
    return {}
  }
}
