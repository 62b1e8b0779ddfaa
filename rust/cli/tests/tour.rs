//! The commands in docs/gdvar.md print what the document shows.

#[test]
fn the_tour_shows_real_output() {
    trycmd::TestCases::new().case("../../docs/gdvar.md");
}
