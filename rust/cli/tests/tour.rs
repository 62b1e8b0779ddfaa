//! The commands of docs/gdvar.md print what it says.

#[test]
fn the_tour_is_true() {
    trycmd::TestCases::new().case("../../docs/gdvar.md");
}
