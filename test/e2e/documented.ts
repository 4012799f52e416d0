/** The commands of a document, as a reader would run them. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { providePrograms } from '../helpers/kubernetes/programs.ts'
import { ROOT } from './world.ts'

const execute = promisify(execFile)

/** The lines of the first block of shell commands that installs the chart, without comments. */
export function installCommands(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block)
  const block = blocks.find((one) => one.includes('helm install'))
  if (block === undefined) throw new Error(`${file} has no block of commands with helm install.`)
  const lines = block.replaceAll('\\\n', ' ').split('\n')
  return lines.map((line) => line.replace(/\s+#\s.*$/, '').trim()).filter((line) => line !== '')
}

/** Runs it in the root of the tree, with the cluster's programs in PATH. */
export async function runCommand(command: string): Promise<string> {
  const { kubectl = '', helm = '' } = await providePrograms(['kubectl', 'helm'])
  const PATH = [dirname(kubectl), dirname(helm), process.env.PATH].join(':')
  const env = { ...process.env, PATH, KUBECONFIG: process.env.E2E_KUBECONFIG }
  const ran = await execute('sh', ['-ec', command], { cwd: ROOT, env }).catch((error: unknown) => {
    throw new Error(`As documented: ${command}\n${error}`, { cause: error })
  })
  return ran.stdout
}
