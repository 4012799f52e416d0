/** The last changes: log events that report a change. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Changes } from '../../../dataplane/telemetry/changes.ts'
import { createLog } from '../../../dataplane/telemetry/log.ts'

test('changes are kept newest first and bounded, and the log does not change', () => {
  const lines: string[] = []
  const write = (line: string) => void lines.push(line)
  const changes = new Changes(() => 0)
  const log = changes.heardIn(createLog({ write, flush() {}, wallClock: () => 0 }))
  log.event('warn', 'cors_refused', 'A preflight was refused.')
  for (let count = 0; count < 60; count++)
    log.event('warn', 'breaker', `Change ${count}.`, { secret: 'not kept' })
  assert.equal(lines.length, 61)
  const kept = changes.newestFirst()
  assert.equal(kept.length, 50)
  assert.deepEqual(kept[0], {
    time: '1970-01-01T00:00:00.000Z',
    level: 'warn',
    event: 'breaker',
    message: 'Change 59.',
  })
})
