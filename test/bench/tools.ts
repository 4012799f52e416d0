/** The programs that the benchmark needs: found or requested, and its own two compiled. */
import { execFileSync } from 'node:child_process'
import { accessSync, constants, mkdirSync } from 'node:fs'
import { availableParallelism, cpus, release } from 'node:os'
import { delimiter, join } from 'node:path'

const PACKAGES: Readonly<Record<string, string>> = {
  nginx: 'nginx-light',
  cc: 'gcc libc6-dev',
  taskset: 'util-linux',
  'redis-server': 'redis-server',
  openssl: 'openssl',
  bash: 'bash',
}

/** Sentences that name a missing program and how to get it; empty if all are there. */
export function missingTools(): string[] {
  const missing = Object.keys(PACKAGES).filter((tool) => !isOnPath(tool))
  const problems = missing.map(
    (tool) => `${tool} is missing; on Debian: apt-get install ${PACKAGES[tool]}`,
  )
  if (availableParallelism() < 2) {
    problems.push('the benchmark needs two cores: one is measured, the other makes the load')
  }
  return problems
}

function isOnPath(tool: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, tool), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

export interface Programs {
  readonly load: string
  readonly upstream: string
}

/** Compiled each time, because it takes half a second and is never stale. */
export function compilePrograms(directory: string): Programs {
  const build = join(directory, 'build')
  mkdirSync(build, { recursive: true })
  const compile = (name: string) => {
    const program = join(build, name)
    const source = join(directory, `${name}.c`)
    execFileSync('cc', ['-O2', '-Wall', '-Wextra', '-o', program, source], { stdio: 'inherit' })
    return program
  }
  return { load: compile('load'), upstream: compile('upstream') }
}

export function describeMachine(root: string): string[] {
  const node = outputOf(join(root, 'node_modules/.bin/node'), ['--version'])
  const nginx = outputOf('bash', ['-c', 'nginx -v 2>&1']).replace(/^.*nginx\//, '')
  return [
    `Node ${node.replace('v', '')}`,
    `nginx ${nginx}`,
    `Linux ${release()}`,
    `${cpus()[0]?.model.trim() ?? 'unknown processor'}, ${cpus().length} cores`,
  ]
}

function outputOf(program: string, programArguments: string[]): string {
  return execFileSync(program, programArguments, { encoding: 'utf8' }).trim()
}
