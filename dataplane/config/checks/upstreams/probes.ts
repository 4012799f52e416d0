/** Health probes. */
import { PROVIDER_FACTS } from '../../../providers/index.ts'
import { refuse, warn } from '../../judgement/problems.ts'
import { at, type Check } from '../contract.ts'

const hostedProbeHasPath: Check = ({ upstreams }) =>
  upstreams.flatMap(({ provider, health_check }, index) =>
    health_check !== undefined && health_check.path === undefined && PROVIDER_FACTS[provider].hosted
      ? [
          refuse(
            at('upstreams', index, 'health_check', 'path'),
            `required: the hosted API ${provider} has no usual health path`,
            'Add path:, or remove health_check; hosted APIs are not probed without it.',
          ),
        ]
      : [],
  )

const probeEndsBeforeTheNext: Check = ({ upstreams }) =>
  upstreams.flatMap(({ health_check }, index) =>
    health_check !== undefined && health_check.timeout_seconds >= health_check.interval_seconds
      ? [
          warn(
            at('upstreams', index, 'health_check', 'timeout_seconds'),
            `${health_check.timeout_seconds} s is not below interval_seconds (${health_check.interval_seconds})`,
            'Write well under interval_seconds.',
          ),
        ]
      : [],
  )

export const probeChecks = [hostedProbeHasPath, probeEndsBeforeTheNext]
