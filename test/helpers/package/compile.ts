/**
 * Compiles the tool and the gateway to JavaScript in `dist/`, because Node does not strip types below `node_modules`.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../../..')
const DIST = join(ROOT, 'dist')
/** The last ones are found by their address. */
const PROGRAMS = [
  'cli/program.ts',
  'cli/main.ts',
  'dataplane/main.ts',
  'dataplane/tokens/exact/thread.ts',
  'dataplane/store/embedded/thread.ts',
  'dataplane/config/apart/program.ts',
  ...globSync('dataplane/providers/*/provider.ts', { cwd: ROOT }),
]
const READ_AS_FILES = ['cli/example.yaml', 'dataplane/console/page']

if (import.meta.main) {
  if (process.argv.includes('--remove')) rmSync(DIST, { recursive: true, force: true })
  else compilePackage()
}

/** Throws the compiler's message. */
function compilePackage(): void {
  rmSync(DIST, { recursive: true, force: true })
  const project = join(ROOT, '.cache/tsconfig.package.json')
  const settings = {
    extends: '../tsconfig.json',
    compilerOptions: {
      noEmit: false,
      rootDir: '..',
      outDir: '../dist',
      rewriteRelativeImportExtensions: true,
    },
    files: PROGRAMS.map((file) => `../${file}`),
    include: [],
  }
  mkdirSync(join(ROOT, '.cache'), { recursive: true })
  writeFileSync(project, JSON.stringify(settings))
  const compiler = join(ROOT, 'node_modules/.bin/tsc')
  const { status, stdout } = spawnSync(compiler, ['--project', project], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`tsc ended with ${status}:\n${stdout}`)
  for (const file of READ_AS_FILES) cpSync(join(ROOT, file), join(DIST, file), { recursive: true })
}
