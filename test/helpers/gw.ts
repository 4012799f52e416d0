/** The tool as users start it: a separate process. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import './runtime-folder.ts'

export const TOOL = join(import.meta.dirname, '../../cli/gw.js')
const SECONDS_MAX = 120

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs it to its end. */
export async function gw(...args: readonly string[]): Promise<Ended> {
  return await node(TOOL, ...args)
}

export async function node(...args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, args, { timeout: SECONDS_MAX * 1000, stdio: 'pipe' })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const [code] = await once(child, 'close')
  return { code, stdout, stderr }
}
