/** The console as `gw console` serves it for a gateway of this machine, and the playground with an answer. */
import type { Page } from 'playwright-core'
import { withGateways } from '../../../cli/asking/asked-gateways.ts'
import { type ConsoleServer, startConsole } from '../../../cli/console/server.ts'
import type { Front } from '../fake-upstream.ts'
import { show } from './browser.ts'

export interface LocalConsole extends ConsoleServer {
  readonly token: string
  /** The data of the gateway below it. */
  readonly podUrl: string
}

export async function startLocalConsole(front: Front): Promise<LocalConsole> {
  const token = 'of-this-console'
  const served = await startConsole({ port: 0, token, onSilence() {} })
  const { port: admin } = new URL(front.process.url)
  await withGateways({ kind: 'stand-alone', admin }, async (all) => served.follow(all))
  return { ...served, token, podUrl: `${new URL(served.url).origin}/pods/${admin}` }
}

/** Sends the message with this key, and waits for the trace. */
export async function playOnce(page: Page, key: string): Promise<void> {
  await show(page, 'playground')
  await page.getByLabel('Key of a client').fill(key)
  await page.getByRole('button', { name: 'Send' }).click()
  await page.locator('.tree.card').waitFor()
}
