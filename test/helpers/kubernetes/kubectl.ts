/** The real kubectl, as a function. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

export interface KubectlOptions {
  readonly stdin?: string
  /** The kubeconfig of a user other than the administrator. */
  readonly kubeconfig?: string
}

/** Returns its output; rejects with `KubectlError` if it does not exit with 0. */
export type Kubectl = (args: readonly string[], options?: KubectlOptions) => Promise<string>

export class KubectlError extends Error {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string

  constructor(args: readonly string[], code: number | null, stdout: string, stderr: string) {
    super(`kubectl ${args.join(' ')} ended with ${code}:\n${stderr}`)
    this.code = code
    this.stdout = stdout
    this.stderr = stderr
  }
}

/** A command that waits for a server that never answers would block everything. */
const KUBECTL_MS_MAX = 180_000

export function makeKubectl(
  program: string,
  administrator: string,
  msMax: number = KUBECTL_MS_MAX,
): Kubectl {
  return async (args, { stdin, kubeconfig = administrator } = {}) => {
    const child = spawn(program, args, { env: { ...process.env, KUBECONFIG: kubeconfig } })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    child.stdin.on('error', () => undefined).end(stdin ?? '')
    const timer = setTimeout(() => child.kill('SIGKILL'), msMax)
    const [code] = await once(child, 'close')
    clearTimeout(timer)
    if (code !== 0) throw new KubectlError(args, code, stdout, stderr)
    return stdout
  }
}

/** Returns kubectl's message if it is refused; throws otherwise. */
export async function refusalOf(action: Promise<unknown>): Promise<string> {
  try {
    await action
  } catch (error) {
    if (error instanceof KubectlError) return error.stderr
    throw error
  }
  throw new Error('It was not refused.')
}
