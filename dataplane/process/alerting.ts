/** The webhook of a process, and what sends alerts to it. */

import type { Snapshot } from '../config/snapshot.ts'
import { postThrough } from '../connection/post.ts'
import { AlertWebhook, sendAlert, type WebhookOptions } from '../limits/alerts/webhook.ts'
import { Rollouts } from '../rollout/rollouts.ts'
import { Objectives } from '../telemetry/slo.ts'

/** `current`: the section in force. The caller adds all three to the deadlines of the process. */
export function openAlerts(snapshot: Snapshot, current: () => Section, world: AlertWorld) {
  const { clock, random, metrics, log } = world
  const onDrop: WebhookOptions['onDrop'] = ({ alert: { type }, reason, origin, why }) => {
    metrics.alertsDropped.at(reason).value++
    const message = `The webhook at ${origin} did not accept an alert (${type}): ${why}.`
    log.event('warn', 'alert_dropped', message, { type, reason })
  }
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
