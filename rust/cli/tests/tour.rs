//! The commands in docs/gdvar.md print what the document shows.

#[test]
fn the_tour_is_true() {
    trycmd::TestCases::new().case("../../docs/gdvar.md");
}
