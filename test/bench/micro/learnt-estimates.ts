/** The hold for an estimated prompt, and learning from its usage, for each request of a tenant with a budget. */
import { Learnt } from '../../../dataplane/tokens/learnt.ts'
import { aRequest } from '../../helpers/providers/a-request.ts'
import { compare } from './runner.ts'

const request = aRequest({ messages: [{ role: 'user', content: 'word '.repeat(200) }] })
const learnt = new Learnt()

await compare(import.meta.url, 1_000_000, {
  'note and hold': (times) => {
    for (let index = 0; index < times; index++) {
      learnt.note(request, 250, 200 + (index & 31))
      learnt.held(request, 250)
    }
  },
  nothing: (times) => {
    for (let index = 0; index < times; index++) request.bytes.length
  },
})
