/** The validator of the FOCUS specification, installed once into a folder of the user's cache with a Python that it takes. */
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CACHE } from './cache.ts'

const VERSION = '2.2.1'
const FOLDER = join(CACHE, `focus-validator-${VERSION}`)
const PYTHON = join(FOLDER, 'bin/python')
const run = promisify(execFile)

/** The rules of FOCUS 1.2 that the file breaks, by name; those that come with the validator. */
export async function brokenRules(file: string): Promise<string[]> {
  await prepare()
  const [packages = ''] = globSync(join(FOLDER, 'lib/python3*/site-packages'))
  // It opens its rules by a relative path, and ends with 1 where one is broken.
  const { stdout, stderr } = spawnSync(
    PYTHON,
    [
      join(FOLDER, 'bin/focus-validator'),
      `--data-file=${file}`,
      '--validate-version=1.2',
      '--block-download',
    ],
    { cwd: packages, encoding: 'utf8', maxBuffer: 1 << 26 },
  )
  if (!/Total: \d+ \| Pass: [1-9]/.test(stdout))
    throw new Error(`The validator said: ${stdout.slice(-2000)}${stderr.slice(-2000)}`)
  return [...stdout.matchAll(/^\S+ (\S+): FAIL\b/gm)].map(([, rule = '']) => rule)
}

async function prepare(): Promise<void> {
  if (existsSync(join(FOLDER, 'installed'))) return
  await rm(FOLDER, { recursive: true, force: true })
  await mkdir(CACHE, { recursive: true })
  await run(newPython(), ['-m', 'venv', FOLDER])
  const packages = [`focus-validator==${VERSION}`, 'pyarrow<20']
  await run(PYTHON, ['-m', 'pip', 'install', '--quiet', ...packages])
  await mkdir(join(FOLDER, 'installed'))
}

/** It needs Python 3.12. */
function newPython(): string {
  const others = join(process.env.PYENV_ROOT || join(homedir(), '.pyenv'), 'versions/*/bin/python3')
  const named = ['python3.14', 'python3.13', 'python3.12', 'python3']
  const found = [...named, ...globSync(others)].find(
    (python) =>
      spawnSync(python, ['-c', 'import sys, ensurepip; sys.exit(sys.version_info < (3, 12))'])
        .status === 0,
  )
  if (found !== undefined) return found
  throw new Error('The validator of FOCUS needs Python 3.12 or later with venv; install one.')
}
