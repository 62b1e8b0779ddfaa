//! Medians, and how far samples lie apart.

/// The value in the middle; `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The middle half's width over the median: 0 when all are equal.
pub fn spread(values: &[f64]) -> Option<f64> {
    Some((quantile(values, 0.75)? - quantile(values, 0.25)?) / median(values)?)
}

/// Between two values the straight line counts.
fn quantile(values: &[f64], part: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let position = part * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
    Some(below + (above - below) * position.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn spreads() {
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[5.0, 5.0, 5.0]), Some(0.0));
        assert_eq!(spread(&[1.0, 2.0, 3.0, 4.0, 5.0]), Some(2.0 / 3.0));
    }

    #[test]
    fn one_outlier_changes_little() {
        assert_eq!(median(&[1.0, 1.0, 1.0, 900.0]), Some(1.0));
    }
}
