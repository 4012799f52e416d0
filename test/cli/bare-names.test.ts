/** Names without their option: `gw upstream test NAME`. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startFront, startUpstream } from '../helpers/fake-upstream.ts'
import { gw } from '../helpers/gw-here.ts'

const upstream = await startUpstream()
const front = await startFront({
  upstreams: [
    { name: 'first', endpoint: upstream.url },
    { name: 'second', endpoint: upstream.url },
  ],
  routes: [{ name: 'chat', strategy: 'round_robin', upstreams: ['first', 'second'] }],
})
after(() => Promise.all([front.process.stop(), upstream.close()]))
const { configFile } = front.process
const at = ['--admin', front.process.adminUrl]

const PAIRS = [
  { bare: ['upstream', 'test', 'second', ...at], option: '--name' },
  { bare: ['limits', 'show', 'acme', ...at], option: '--tenant' },
  { bare: ['explain', 'chat', ...at], option: '--route' },
  { bare: ['gateway', 'test', 'chat', ...at], option: '--route' },
  { bare: ['keys', 'test', 'client', '-f', configFile], option: '--id' },
  { bare: ['keys', 'inspect', 'gw_none', '-f', configFile], option: '--prefix' },
  { bare: ['config', 'validate', configFile], option: '--file' },
  { bare: ['diff', configFile, ...at], option: '--file' },
]

for (const { bare, option } of PAIRS) {
  const [group = '', verb = ''] = bare
  test(`gw ${group} ${verb} takes a name alone as ${option}`, async () => {
    const place = bare.findIndex(
      (word, index) =>
        index > 0 && ['second', 'acme', 'chat', 'client', 'gw_none', configFile].includes(word),
    )
    const long = bare.toSpliced(place, 1, option, bare[place] ?? '')
    const [one, other] = [await gw(...bare), await gw(...long)]
    const plain = ({ code, stdout, stderr }: typeof one) => [code, withoutTimes(stdout), stderr]
    assert.deepEqual(plain(one), plain(other))
    assert.notEqual(one.code, 64, one.stderr)
  })
}

test('a name and its option together, or with an option that excludes it, are wrong usage', async () => {
  const twice = await gw('upstream', 'test', 'first', '--name', 'second', ...at)
  assert.deepEqual(twice.code, 64)
  assert.match(twice.stderr, /"first" and --name name the same thing; give one/)
  const all = await gw('upstream', 'test', 'first', '--all', ...at)
  assert.deepEqual(all.code, 64)
  assert.match(all.stderr, /"first" cannot be used with --all/)
})

test('a required name that is missing is reported as its option', async () => {
  const { code, stderr } = await gw('explain', ...at)
  assert.deepEqual([code, stderr], [64, "error: required option '--route <name>' not specified\n"])
})

/** Milliseconds of a request differ. */
function withoutTimes(text: string): string {
  return text.replaceAll(/\d+/g, 'N').replaceAll(/ +/g, ' ')
}

test('status and top take the name of a gateway of a cluster', async () => {
  for (const command of ['status', 'top']) {
    const { code, stderr } = await gw(command, 'production', '--admin', 'http://127.0.0.1:9')
    assert.equal(code, 64)
    assert.match(stderr, /--admin is of a stand-alone gateway and --gateway of a cluster/)
  }
  const { code, stderr } = await gw('status', 'production', '-A')
  assert.equal(code, 64)
  assert.match(stderr, /"production" cannot be used with --all-namespaces/)
})
