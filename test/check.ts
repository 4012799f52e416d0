/**
 * The checks that need no test run: format, linter, types, unused code, rules of the tree, generated files. With
 * `--changed` only the most likely problems of an edit, in seconds: format and linter of the files that differ from
 * main, types and the rules of the tree.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const ROOT = join(import.meta.dirname, '..')

/** A script of package.json, without `check:`, and its arguments. */
type Check = readonly [script: string, ...args: string[]]

/** Checks of one row run together; a row starts after those before it have passed. */
const WHOLE: readonly (readonly Check[])[] = [
  [['format', '.'], ['types'], ['unused']],
  [['rules']],
  [['generated']],
]

const { values } = parseArgs({ options: { changed: { type: 'boolean', default: false } } })
for (const row of values.changed ? [changedRow()] : WHOLE) {
  const passed = await Promise.all(row.map(run))
  if (passed.includes(false)) process.exit(1)
}

function changedRow(): readonly Check[] {
  const files = changedFiles()
  return files.length === 0 ? [['types'], ['rules']] : [['format', ...files], ['types'], ['rules']]
}

/** The files that differ from the commit at which this branch left main, and new ones. */
function changedFiles(): string[] {
  const main = ['main', 'origin/main'].find((name) => git('rev-parse', '--verify', name) !== '')
  const base = main === undefined ? 'HEAD' : git('merge-base', 'HEAD', main) || 'HEAD'
  const changed = git('diff', '--name-only', base)
  const fresh = git('ls-files', '--others', '--exclude-standard')
  return [changed, fresh]
    .flatMap((names) => names.split('\n'))
    .filter((name) => name !== '' && existsSync(join(ROOT, name)))
}

function git(...args: readonly string[]): string {
  const { stdout } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' })
  return (stdout ?? '').trim()
}

/** Its output is written at once when it ends, so that the outputs of a row do not mix. */
async function run([script, ...args]: Check): Promise<boolean> {
  const began = performance.now()
  const child = spawn('npm', ['run', '--silent', `check:${script}`, '--', ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  }
  const status = await new Promise((resolve) => {
    child.on('error', ({ message }) => {
      chunks.push(Buffer.from(message))
      resolve(1)
    })
    child.on('close', resolve)
  })
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  if (status !== 0) process.stdout.write(Buffer.concat(chunks))
  process.stdout.write(`${status === 0 ? 'passed' : 'FAILED'} in ${seconds} s: check:${script}\n`)
  return status === 0
}
