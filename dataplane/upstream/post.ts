/** Posts an alert to a webhook; true when it was taken. */
import { Agent, request } from 'undici'
import { checkedLookup } from './addresses.ts'

const POST_TIMEOUT_MS = 5000

/** Addresses that are never dialled for upstreams are not dialled for alerts either. */
const agent = new Agent({ connect: { lookup: checkedLookup() }, keepAliveTimeout: 1000 })

export async function post(
  url: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<boolean> {
  const answer = await request(url, {
    method: 'POST',
    body,
    headers,
    dispatcher: agent,
    signal: AbortSignal.timeout(POST_TIMEOUT_MS),
  })
  await answer.body.dump()
  return answer.statusCode >= 200 && answer.statusCode < 300
}
