/** Credentials in files: a replaced one is used from the next request, without a reload. */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startFront, startUpstream } from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'

const folder = await mkdtemp(join(tmpdir(), 'gw-rotation-'))
const upstream = await startUpstream()

/**
 * As a kubelet mounts a secret: the file is a link into a folder that is itself a link, which is
 * replaced.
 */
async function mount(secret: string, generation: number): Promise<void> {
  await mkdir(join(folder, 'team', `..${generation}`), { recursive: true })
  await writeFile(join(folder, 'team', `..${generation}`, 'key'), secret)
  await symlink(`..${generation}`, join(folder, 'team', '..new'))
  await rename(join(folder, 'team', '..new'), join(folder, 'team', '..data'))
}

await writeFile(join(folder, 'plain'), 'plain-one')
await mount('mounted-one', 1)
await symlink(join('..data', 'key'), join(folder, 'team', 'key'))

const front = await startFront(
  {
    upstreams: [
      { name: 'plain', endpoint: upstream.url, api_key: `\${file:${join(folder, 'plain')}}` },
      { name: 'mounted', endpoint: upstream.url, api_key: '${secret:team/key}' },
    ],
    routes: ['plain', 'mounted'].map((name) => ({ name, strategy: 'single', primary: name })),
  },
  { env: { GW_SECRETS_DIR: folder } },
)
after(async () => {
  await front.process.stop()
  await upstream.close()
  await rm(folder, { recursive: true })
})

async function sentBy(model: string): Promise<string | undefined> {
  assert.equal((await front.chat({ model })).status, 200)
  return upstream.asked.at(-1)?.headers.authorization
}

const changes: Readonly<Record<string, (secret: string) => Promise<void>>> = {
  'a file that is written': (secret) => writeFile(join(folder, 'plain'), secret),
  'a file that is replaced by renaming': async (secret) => {
    await writeFile(join(folder, 'plain.new'), secret)
    await rename(join(folder, 'plain.new'), join(folder, 'plain'))
  },
}

for (const [what, change] of Object.entries(changes)) {
  test(`${what} is read again`, async () => {
    const secret = `plain after ${what}`.replaceAll(' ', '-')
    await change(secret)
    await until(
      'the new credential is sent',
      async () => (await sentBy('plain')) === `Bearer ${secret}`,
    )
  })
}

test('a mounted secret whose folder is replaced is read again', async () => {
  assert.equal(await sentBy('mounted'), 'Bearer mounted-one')
  await mount('mounted-two', 2)
  await until('the new credential is sent', async () => {
    return (await sentBy('mounted')) === 'Bearer mounted-two'
  })
})

test('emptying a file changes nothing, and the failed reload is reported', async () => {
  const before = await sentBy('plain')
  await writeFile(join(folder, 'plain'), '')
  await until('it is told', async () => {
    return (await front.value('gw_config_reload_total{result="failure"}')) > 0
  })
  assert.equal(await sentBy('plain'), before)
})
