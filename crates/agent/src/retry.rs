//! The decision after a failed model call: another model, a wait, or the end of the run.

use std::fmt::Write as _;
use std::time::Duration;

use osier_base::clock;
use osier_llm::TurnStatus;

/// The limits of retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum number of retries per turn, over all models.
    pub max_retries: u32,
    /// Delay before the first retry; doubles with every further one.
    pub base_delay: Duration,
    /// Maximum delay, unless the provider specifies one.
    pub max_delay: Duration,
    /// Maximum delay that a provider can specify; a longer one ends the run.
    pub max_retry_after: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 5,
            base_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(30),
            max_retry_after: Duration::from_mins(5),
        }
    }
}

/// The next step after a failed call. Models are indices of the agent's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryStep {
    /// Call this model now.
    Switch {
        model: usize,
    },
    /// Call this model after the delay.
    Wait {
        model: usize,
        delay: Duration,
    },
    GiveUp,
}

/// A failed model call.
#[derive(Debug, Clone, Copy)]
pub struct CallFailure<'a> {
    pub status: &'a TurnStatus,
    /// Index of the model.
    pub model: usize,
    /// Failed attempts of this turn, including this one.
    pub attempts: u32,
    /// For each model, whether its provider is enabled.
    pub usable: &'a [bool],
    /// A number from 0 to 1 that shortens the delay by up to a quarter.
    pub jitter: f64,
}

impl RetryPolicy {
    /// The step after `failure`: the next usable model, or after the last one the first, after a delay.
    pub fn next(&self, failure: CallFailure<'_>) -> RetryStep {
        let CallFailure {
            status,
            model,
            attempts,
            usable,
            jitter,
        } = failure;
        if attempts > self.max_retries || !(status.is_retryable() || status.disables_provider()) {
            return RetryStep::GiveUp;
        }
        if let Some(next) = (model + 1..usable.len()).find(|index| usable[*index]) {
            return RetryStep::Switch { model: next };
        }
        let Some(first) = usable.iter().position(|usable| *usable) else {
            return RetryStep::GiveUp;
        };
        if status.disables_provider() {
            // The last model is now disabled; an earlier one is tried again.
            return if first == model {
                RetryStep::GiveUp
            } else {
                self.backoff(first, attempts, jitter)
            };
        }
        match status {
            TurnStatus::RateLimit {
                retry_after_ms: Some(delay_ms),
                ..
            } => {
                let delay = Duration::from_millis(*delay_ms);
                if delay > self.max_retry_after {
                    return RetryStep::GiveUp;
                }
                RetryStep::Wait {
                    model: first,
                    delay,
                }
            }
            _ => self.backoff(first, attempts, jitter),
        }
    }

    /// `status` as the reason to give up; it names the wait that the provider asked for, if the wait is the reason.
    pub(crate) fn with_wait(&self, mut status: TurnStatus) -> TurnStatus {
        if let TurnStatus::RateLimit {
            message,
            retry_after_ms: Some(delay_ms),
        } = &mut status
            && Duration::from_millis(*delay_ms) > self.max_retry_after
        {
            let wait = clock::human_duration(*delay_ms);
            let limit = self.max_retry_after.as_secs() / 60;
            let _ = write!(
                message,
                " (the provider asks to retry in {wait}; osier waits at most {limit} minutes)"
            );
        }
        status
    }

    fn backoff(&self, model: usize, attempts: u32, jitter: f64) -> RetryStep {
        let doubled = self
            .base_delay
            .saturating_mul(1 << attempts.saturating_sub(1).min(16));
        let delay = doubled
            .min(self.max_delay)
            .mul_f64(1.0 - 0.25 * jitter.clamp(0.0, 1.0));
        RetryStep::Wait { model, delay }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate_limit(retry_after_ms: Option<u64>) -> TurnStatus {
        TurnStatus::RateLimit {
            message: "slow down".into(),
            retry_after_ms,
        }
    }

    fn step(status: &TurnStatus, model: usize, attempts: u32, usable: &[bool]) -> RetryStep {
        RetryPolicy::default().next(CallFailure {
            status,
            model,
            attempts,
            usable,
            jitter: 0.0,
        })
    }

    fn wait(model: usize, milliseconds: u64) -> RetryStep {
        RetryStep::Wait {
            model,
            delay: Duration::from_millis(milliseconds),
        }
    }

    #[test]
    fn other_models_are_tried_before_exponential_backoff() {
        let status = rate_limit(None);
        assert_eq!(
            step(&status, 0, 1, &[true, true]),
            RetryStep::Switch { model: 1 }
        );
        assert_eq!(step(&status, 1, 2, &[true, true]), wait(0, 1000));
        assert_eq!(step(&status, 0, 1, &[true]), wait(0, 500));
        assert_eq!(step(&status, 0, 5, &[true]), wait(0, 8000));
        assert_eq!(step(&status, 0, 6, &[true]), RetryStep::GiveUp);
    }

    #[test]
    fn jitter_shortens_backoff_but_not_retry_after() {
        let status = rate_limit(None);
        let step = |jitter, status: &TurnStatus| {
            RetryPolicy::default().next(CallFailure {
                status,
                model: 0,
                attempts: 3,
                usable: &[true],
                jitter,
            })
        };
        assert_eq!(step(0.0, &status), wait(0, 2000));
        assert_eq!(step(0.5, &status), wait(0, 1750));
        assert_eq!(step(1.0, &status), wait(0, 1500));
        assert_eq!(step(1.0, &rate_limit(Some(2000))), wait(0, 2000));
    }

    #[test]
    fn retry_after_is_honoured_up_to_the_limit() {
        assert_eq!(
            step(&rate_limit(Some(20_000)), 0, 1, &[true]),
            wait(0, 20_000)
        );
        assert_eq!(
            step(&rate_limit(Some(3_600_000)), 0, 1, &[true]),
            RetryStep::GiveUp
        );
    }

    #[test]
    fn auth_error_switches_to_the_next_provider() {
        let status = TurnStatus::AuthError {
            message: "bad key".into(),
        };
        assert_eq!(
            step(&status, 0, 1, &[false, true]),
            RetryStep::Switch { model: 1 }
        );
        assert_eq!(step(&status, 0, 1, &[false]), RetryStep::GiveUp);
        let refused = TurnStatus::ModelError {
            message: "no".into(),
            retryable: false,
        };
        assert_eq!(step(&refused, 0, 1, &[true, true]), RetryStep::GiveUp);
    }
}
