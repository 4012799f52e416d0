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
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { VERSION } from '../../dataplane/base/version.ts'
import manifest from '../../package.json' with { type: 'json' }
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

/** The package in a folder, and packages of this tree beside it, where npm installs dependencies. */
function install(place: string, absent: readonly string[] = []): string {
  const installed = join(folder, place, 'node_modules/gw')
  mkdirSync(installed, { recursive: true })
  const file = `${folder}/gw-${VERSION}.tgz`
  execFileSync('tar', ['-xzf', file, '--strip-components=1', '-C', installed])
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    const isLeftOut = absent.some((one) => one === name || one.startsWith(`${name}/`))
    if (!isLeftOut)
      symlinkSync(join(ROOT, 'node_modules', name), join(folder, place, 'node_modules', name))
  }
  return installed
}

const installed = install('whole')
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

test('without its optional packages it serves, and says how to install the one that a setting needs', async () => {
  const small = install('small', Object.keys(manifest.optionalDependencies))
  const fake = await startUpstream()
  const kubeconfig = join(folder, 'kubeconfig.yaml')
  writeFileSync(kubeconfig, KUBECONFIG)
  const cluster = ['status', '--kubeconfig', kubeconfig]
  const front = await startFront(
    {
      upstreams: [
        { name: 'plain', endpoint: fake.url },
        { name: 'cloud', provider: 'azure_openai', endpoint: fake.url, api_key: undefined },
      ],
      routes: [
        { name: 'chat', strategy: 'single', primary: 'plain' },
        { name: 'other', strategy: 'single', primary: 'cloud' },
      ],
    },
    { program: join(small, 'dist/dataplane/main.js') },
  )
  try {
    assert.equal((await front.chat()).status, 200)
    await until('the credential is looked for', async () => {
      const { upstreams } = await front.admin('/status')
      return JSON.stringify(upstreams).includes(
        'The package @azure/identity is not installed. To install it: npm install @azure/identity',
      )
    })
    const { code, stderr } = await node(join(small, 'cli/gw.js'), ...cluster)
    assert.equal(code, 2, stderr)
    assert.match(stderr, /To install it: npm install @kubernetes\/client-node/)
  } finally {
    await Promise.all([front.process.stop(), fake.close()])
  }
})

/** Its credential comes from a program, which the tool itself does not run. */
const KUBECONFIG = `apiVersion: v1
kind: Config
current-context: here
contexts: [{ name: here, context: { cluster: here, user: me } }]
clusters: [{ name: here, cluster: { server: 'https://127.0.0.1:1' } }]
users: [{ name: me, user: { exec: { apiVersion: client.authentication.k8s.io/v1, command: no-program } } }]
`
