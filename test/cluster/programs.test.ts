/** How the programs of a cluster are obtained; a fake Go records its arguments. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'

const PROGRAM = join(import.meta.dirname, '../helpers/kubernetes/programs.ts')
const ETCD = 'gw-test/etcd-v3.6.6/etcd'

const GO = `#!/bin/sh
if [ "$1" = env ]; then echo go1.99.0; exit; fi
echo "$*" >> "$ASKED"
if [ "$1" = list ]; then [ -z "$BROKEN" ] || echo no network >&2; [ -z "$BROKEN" ]; exit; fi
while [ "$1" != -o ]; do shift; done
if [ -n "$BROKEN" ]; then echo no network >&2; exit 1; fi
echo built > "$2"
`

let folder: string

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gw-programs-'))
  await mkdir(join(folder, 'bin'))
  await writeFile(join(folder, 'bin/go'), GO)
  await chmod(join(folder, 'bin/go'), 0o755)
})

beforeEach(async () => {
  await rm(join(folder, 'cache'), { recursive: true, force: true })
  await writeFile(join(folder, 'asked'), '')
})

after(async () => await rm(folder, { recursive: true }))

async function provide(env: Readonly<Record<string, string>> = {}, ...names: readonly string[]) {
  const child = spawn(process.execPath, [PROGRAM, ...names], {
    env: {
      PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
      XDG_CACHE_HOME: join(folder, 'cache'),
      ASKED: join(folder, 'asked'),
      ...env,
    },
  })
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

async function asked(): Promise<string[]> {
  const text = await readFile(join(folder, 'asked'), 'utf8')
  return text.split('\n').filter((line) => line !== '')
}

test('a program is built once, kept by version, and found afterwards', async () => {
  const path = join(folder, 'cache', ETCD)
  assert.deepEqual((await provide({}, 'etcd')).stdout, `etcd ${path}\n`)
  assert.deepEqual((await provide({}, 'etcd')).stdout, `etcd ${path}\n`)
  const builds = await asked()
  assert.equal(builds.length, 1)
  assert.match(builds[0] ?? '', /^build -trimpath .*go\.etcd\.io\/etcd\/server\/v3$/)
})

test('programs of Kubernetes know their version', async () => {
  await provide({}, 'kubectl')
  assert.match((await asked())[0] ?? '', /gitVersion=v1\.34\.4 .*gitMajor=1 .*gitMinor=34/)
})

test('concurrent callers build it once', async () => {
  const all = await Promise.all([1, 2, 3].map(() => provide({}, 'etcd')))
  assert.deepEqual(
    all.map(({ code }) => code),
    [0, 0, 0],
  )
  assert.equal((await asked()).length, 1)
})

test('the lock of a dead process is taken over', async () => {
  const lock = `${join(folder, 'cache', ETCD)}.lock`
  await mkdir(dirname(lock), { recursive: true })
  const dead = spawn('true')
  await once(dead, 'close')
  await writeFile(lock, String(dead.pid))
  assert.equal((await provide({}, 'etcd')).code, 0)
})

test('KUBEBUILDER_ASSETS comes first, and programs missing there are built', async () => {
  const assets = join(folder, 'assets')
  await mkdir(assets)
  await writeFile(join(assets, 'etcd'), 'given')
  const { stdout } = await provide({ KUBEBUILDER_ASSETS: assets }, 'etcd', 'kubectl')
  assert.match(stdout, new RegExp(`^etcd ${assets}/etcd\nkubectl ${folder}/cache/.*kubectl\n$`))
  assert.equal((await asked()).length, 1)
})

test('a failing build reports the reason, and leaves nothing that looks like a program', async () => {
  const { code, stderr } = await provide({ BROKEN: 'yes' }, 'etcd')
  assert.equal(code, 1)
  assert.match(stderr, /etcd could not be built with .*bin\/go:\nno network/)
  assert.equal((await provide({}, 'etcd')).code, 0)
})

test('without Go, and without the means to install it, the message names the packages', async () => {
  const tools = join(folder, 'tools')
  await mkdir(tools)
  await writeFile(join(tools, 'bash'), '#!/bin/sh\necho "python3: not found" >&2\nexit 1\n')
  await chmod(join(tools, 'bash'), 0o755)
  const { code, stderr } = await provide({ PATH: tools }, 'etcd')
  assert.equal(code, 1)
  assert.match(stderr, /python3: not found[\s\S]*Install Go 1\.24 or later, or python3-venv/)
})

test('an unknown name is refused', async () => {
  assert.match((await provide({}, 'kube-nothing')).stderr, /No program kube-nothing/)
})

test('the check for a program builds nothing, and returns the reason if it cannot be built', async () => {
  const possible = ['--possible', 'etcd', 'kubectl']
  assert.deepEqual(await provide({}, ...possible), { code: 0, stdout: '', stderr: '' })
  const broken = await provide({ BROKEN: 'yes' }, ...possible)
  assert.deepEqual(broken, { code: 1, stdout: 'no Go module can be had: no network\n', stderr: '' })
  assert.match(
    (await asked()).join('\n'),
    /^(list -m go\.etcd\.io\/etcd\/server\/v3@v3\.6\.6\n?){2}$/,
  )
  await provide({}, 'etcd')
  assert.equal((await provide({ BROKEN: 'yes' }, '--possible', 'etcd')).code, 0)
})
