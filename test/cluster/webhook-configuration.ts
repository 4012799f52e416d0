/** The webhook configuration of the chart, for a webhook that is a process on this machine. */
import { render } from '../helpers/kubernetes/chart.ts'

interface Configured {
  readonly webhooks: readonly Readonly<Record<string, unknown>>[]
}

/**
 * As the chart creates it, but with a port of this machine, because there is no network of
 * Services.
 */
export async function configurationOf(
  name: string,
  port: number,
  failurePolicy: 'Fail' | 'Ignore',
): Promise<object> {
  const objects = await render('everything')
  const made = objects.find(({ kind }) => kind === 'ValidatingWebhookConfiguration')
  if (made === undefined) throw new Error('the chart makes no ValidatingWebhookConfiguration')
  const { webhooks } = made as unknown as Configured // The chart's own tests check its rules.
  return {
    ...made,
    metadata: { name },
    webhooks: webhooks.map((webhook) => ({
      ...webhook,
      failurePolicy,
      // Machines are shared, so the timeout is long here.
      timeoutSeconds: 30,
      clientConfig: { url: `https://127.0.0.1:${port}/validate` },
    })),
  }
}

export function webhookPortIn(output: string): number {
  const line = output.split('\n').find((one) => one.includes('"event":"start"'))
  const port: unknown = line === undefined ? undefined : JSON.parse(line).webhook?.port
  if (typeof port !== 'number') throw new Error(`it says no port of a webhook:\n${output}`)
  return port
}
