/**
 * Loads configurations in a separate process: the serving process never loads the schema and its libraries (13 MiB), and
 * requests do not wait for a large document.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { setPriority } from 'node:os'
import { extname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { receive } from './lines.ts'
import { type Loaded, withReferences } from './loaded.ts'

const PROGRAM = join(import.meta.dirname, `program${extname(import.meta.filename)}`)

/** A document of this size takes seconds: lower priority than the requests of the serving process. */
const LARGE_BYTES = 262_144
const NICENESS = 5

type Variables = Readonly<Record<string, string | undefined>>

/** Rejects if the file cannot be read; mistakes in its content are in `problems`. */
export function readConfigurationApart(
  file: string,
  env: Variables,
  { isServing = false }: { readonly isServing?: boolean } = {},
): Promise<Loaded> {
  return loadInProcess({ file, env, isServing })
}

/** The same for a document that was sent; `file`: its path for messages. */
export function loadConfigurationApart(
  document: string,
  file: string,
  env: Variables,
): Promise<Loaded> {
  return loadInProcess({ file, env, document, isServing: true })
}

interface Order {
  readonly file: string
  readonly env: Variables
  /** The content of the file; absent: the process reads the file. */
  readonly document?: string
  readonly isServing: boolean
}

async function loadInProcess({ file, env, document, isServing }: Order): Promise<Loaded> {
  const source = document === undefined ? 'file' : 'input'
  // A signal of the terminal is for the process that serves.
  const child = spawn(process.execPath, [...memoryFlags(), PROGRAM, source, file], {
    env,
    detached: true,
  })
  // Rejects if the system refuses another process; the pipes may be missing then.
  const ended = once(child, 'close')
  if (child.pid === undefined) await ended
  const bytes = document?.length ?? statSync(file, { throwIfNoEntry: false })?.size ?? 0
  if (isServing && bytes >= LARGE_BYTES && child.pid !== undefined) setPriority(child.pid, NICENESS)
  // The exit of the process shows why it did not read all of it.
  child.stdin.on('error', () => undefined)
  child.stdin.end(document)
  const [[code], complaint, data] = await Promise.all([
    ended,
    text(child.stderr),
    receive(child.stdout),
  ])
  if (code !== 0 || data === undefined) throw new Error(complaint.trim() || `ended with ${code}`)
  return withReferences(data)
}

/** Compiled code is kept for each set of these flags. */
function memoryFlags(): string[] {
  return process.execArgv.filter((flag) => flag.startsWith('--max-'))
}
