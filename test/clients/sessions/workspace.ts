/** The agent's working folder. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PICTURE } from '../../helpers/conversations/model.ts'
import { BIG, BIG_LINES, bigLine, NOTES, PAINTED, PARALLEL, WORDS, wordOfPart } from './steps.ts'

export interface Workspace {
  /** The path ends with a slash. */
  readonly root: string
  edited(): boolean
  ran(): boolean
  remove(): void
}

export function makeWorkspace(): Workspace {
  const root = `${mkdtempSync(join(tmpdir(), 'gw-session-'))}/`
  const write = (path: string, text: string | Buffer) => writeFileSync(root + path, text)
  write(NOTES, `${WORDS.notes}\n${WORDS.old}\n`)
  for (const path of PARALLEL) write(path, `${wordOfPart(path)}\n`)
  write(BIG, `${Array.from({ length: BIG_LINES }, (_, at) => bigLine(at)).join('\n')}\n`)
  write(PAINTED, Buffer.from(PICTURE, 'base64'))
  return {
    root,
    edited: () => readFileSync(root + NOTES, 'utf8') === `${WORDS.notes}\n${WORDS.new}\n`,
    ran: () => {
      const file = root + WORDS.ranFile
      return existsSync(file) && readFileSync(file, 'utf8').trim() === WORDS.ran
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  }
}
