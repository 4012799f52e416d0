/** The host's defaults in a pod, if no variable differs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { environmentOf } from '../../dataplane/pod/run-pod.ts'

test('an empty variable has the default of a pod, a set one applies', () => {
  const { GW_DRAIN_DELAY_SECONDS: delay, GW_POD_NAME: name } = environmentOf({
    GW_DRAIN_DELAY_SECONDS: '',
    GW_POD_NAME: '',
  })
  assert.deepEqual([delay, name], ['10', ''])
  assert.equal(environmentOf({ GW_DRAIN_DELAY_SECONDS: '0' }).GW_DRAIN_DELAY_SECONDS, '0')
})
