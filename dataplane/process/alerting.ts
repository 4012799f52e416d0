/** The webhook of a process, and what sends alerts to it. */

import type { Snapshot } from '../config/snapshot.ts'
import { postThrough } from '../connection/post.ts'
import { AlertWebhook, sendAlert, type WebhookOptions } from '../limits/alerts/webhook.ts'
import { Rollouts } from '../rollout/rollouts.ts'
import { Objectives } from '../telemetry/slo.ts'

/** `current`: the section in force. The caller adds all three to the deadlines of the process. */
export function openAlerts(snapshot: Snapshot, current: () => Section, world: AlertWorld) {
  const { clock, random, metrics } = world
  const onDrop: WebhookOptions['onDrop'] = (_alert, reason) =>
    metrics.alertsDropped.at(reason).value++
  const webhook = new AlertWebhook({ post: postThrough(current), clock, random, onDrop })
  const alert = (one: Parameters<typeof sendAlert>[0]) => sendAlert(one, webhook, current().alerts)
  const objectives = new Objectives({ ...world, alert })
  objectives.follow(snapshot.section)
  const rollouts = new Rollouts({ ...world, alert })
  rollouts.follow(snapshot)
  return { webhook, objectives, rollouts }
}

type AlertWorld = Omit<ConstructorParameters<typeof Rollouts>[0], 'alert'>
type Section = Snapshot['section']
