/** The npm package: compiled, without tests or sources; the tool and the gateway run from it. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { VERSION } from '../../dataplane/base/version.ts'
import { startFront, startUpstream } from '../helpers/fake-upstream.ts'
import { node } from '../helpers/gw.ts'
import { until } from '../helpers/until.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Copied out of the tree, so that no other test finds the compiled files while npm packs. */
const COPIED = [
  'package.json',
  'tsconfig.json',
  'README.md',
  'LICENSE',
  'cli',
  'crds',
  'dataplane',
  'operator',
  'test/helpers/package',
]
const folder = mkdtempSync(join(tmpdir(), 'gw-package-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const tree = join(folder, 'tree')
for (const name of COPIED) cpSync(join(ROOT, name), join(tree, name), { recursive: true })
symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: tree })
const installed = join(folder, 'node_modules/gw')
mkdirSync(installed, { recursive: true })
execFileSync('tar', [
  '-xzf',
  `${folder}/gw-${VERSION}.tgz`,
  '--strip-components=1',
  '-C',
  installed,
])
// Beside the package, where npm installs dependencies.
for (const name of readdirSync(join(ROOT, 'node_modules'))) {
  symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
}
const tool = join(installed, 'cli/gw.js')

test('the package contains only compiled code, and packing leaves the tree unchanged', () => {
  const files = execFileSync('find', [installed, '-type', 'f'], { encoding: 'utf8' }).split('\n')
  assert.deepEqual(
    files.filter((file) => /\.ts$|\.test\.|\/test\//.test(file)),
    [],
  )
  assert.equal(existsSync(join(tree, 'dist')), false)
})

test('the tool validates a file', async () => {
  const example = join(installed, 'dist/cli/example.yaml')
  const { code, stdout, stderr } = await node(tool, 'config', 'validate', '--file', example)
  assert.deepEqual([code, stderr], [0, ''], stdout)
})

test('the gateway answers, and counts tokens in its thread', async () => {
  const fake = await startUpstream()
  const front = await startFront(
    {
      upstreams: [
        {
          name: 'exact',
          endpoint: fake.url,
          model: 'm',
          context_window: 100,
          tokenizer: { encoding: 'o200k_base' },
        },
      ],
      routes: [{ name: 'chat', strategy: 'single', primary: 'exact' }],
    },
    { program: join(installed, 'dist/dataplane/main.js') },
  )
  try {
    const messages = [{ role: 'user', content: ' hello'.repeat(90) }]
    // An estimate finds this prompt too long for the window.
    await until('the prompt is counted', async () => {
      const { status } = await front.chat({ model: 'chat', messages })
      return status === 200
    })
  } finally {
    await Promise.all([front.process.stop(), fake.close()])
  }
})
