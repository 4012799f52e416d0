/** A package that an installation has left out: the error says how to install it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { optionalPackage } from '../../dataplane/base/packages/optional-package.ts'

const ABSENT = 'a-package-of-no-registry'
const load = () => import(String(ABSENT))

test('an absent package is named, with the command that installs it', async () => {
  await assert.rejects(optionalPackage(ABSENT, load), {
    message: `The package ${ABSENT} is not installed. To install it: npm install ${ABSENT}`,
  })
})

test('another error of the package, and an absent package that it needs, are not changed', async () => {
  const own = new Error('It does not start.')
  await assert.rejects(
    optionalPackage(ABSENT, () => Promise.reject(own)),
    own,
  )
  await assert.rejects(optionalPackage('of-another-name', load), { code: 'ERR_MODULE_NOT_FOUND' })
})

test('a package that is there is loaded', async () => {
  const { join } = await optionalPackage('node:path', () => import('node:path'))
  assert.equal(join('a', 'b'), 'a/b')
})
