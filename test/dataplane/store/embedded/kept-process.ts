/** A process that keeps two values on disk, in two writes, until it is killed: `node kept-process.ts FOLDER`. */
import { Journal } from '../../../../dataplane/store/embedded/journal.ts'
import { LuaVm } from '../../../../dataplane/store/embedded/vm.ts'

const [stateDir = ''] = process.argv.slice(2)
const vm = await LuaVm.open()
const journal = new Journal({ stateDir, vm, wall: Date.now, onFailure: reportFailure })
for (const name of ['first', 'second', 'third']) {
  const lua = "redis.call('SET', KEYS[1], ARGV[1]) return 1"
  vm.call('run', [lua, lua, 1, Date.now(), 0, name, 'x'.repeat(5_000)])
  if (name !== 'third') journal.flush()
}
process.stdout.write('written\n', () => process.kill(process.pid, 'SIGKILL'))

function reportFailure(error: Error | undefined): void {
  process.stderr.write(`${error?.message}\n`)
}
