/** The signature of a request: with a cached key of the day, or derived each time as by AWS's own signer. */
import { randomBytes } from 'node:crypto'
import { Signer } from '../../../dataplane/providers/bedrock/aws/signature.ts'
import { compare } from './runner.ts'

const key = { id: 'AKIAIOSFODNN7EXAMPLE', secret: 'x'.repeat(40), token: '', region: '' }
const request = {
  method: 'POST',
  origin: 'https://bedrock-runtime.eu-west-1.amazonaws.com',
  path: '/model/eu.amazon.nova-pro-v1%3A0/converse',
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify({ text: randomBytes(380).toString('hex') })),
  wallMs: Date.UTC(2026, 0, 2),
} as const
const signed = { length: 0 }

await compare(import.meta.url, 50_000, {
  'key of the day kept': (times) => {
    const signer = new Signer(key, 'eu-west-1')
    for (let index = 0; index < times; index++)
      signed.length += signer.sign(request).authorization?.length ?? 0
  },
  'derived each time': (times) => {
    for (let index = 0; index < times; index++)
      signed.length += new Signer(key, 'eu-west-1').sign(request).authorization?.length ?? 0
  },
})
