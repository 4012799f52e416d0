import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Roster } from '../../dataplane/base/roster.ts'

const aMember = (name: string) => ({ name, seat: -1 })

test('members are added and removed in any order, and the roster equals a set', () => {
  const members = Array.from({ length: 8 }, (_, index) => aMember(`m${index}`))
  const command = fc.tuple(fc.boolean(), fc.nat({ max: members.length - 1 }))
  fc.assert(
    fc.property(fc.array(command, { maxLength: 100 }), (commands) => {
      for (const member of members) member.seat = -1
      const roster = new Roster<(typeof members)[number]>()
      const model = new Set<(typeof members)[number]>()
      for (const [adds, index] of commands) {
        const member = members[index]!
        if (adds) {
          roster.add(member)
          model.add(member)
        } else {
          roster.remove(member)
          model.delete(member)
        }
        assert.equal(roster.size, model.size)
        assert.deepEqual(new Set(roster.list()), model)
        for (const [seat, each] of roster.list().entries()) assert.equal(each.seat, seat)
      }
    }),
  )
})

test('members may leave during a loop over the list', () => {
  const roster = new Roster()
  const members = ['a', 'b', 'c'].map(aMember)
  for (const member of members) roster.add(member)
  const walked = roster.list().map((member) => {
    roster.remove(member)
    return member
  })
  assert.deepEqual(walked, members)
  assert.equal(roster.size, 0)
})
