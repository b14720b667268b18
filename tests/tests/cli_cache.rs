//! Compiled rules of the command line, kept in the user's cache folder.

#[path = "cli_house/mod.rs"]
mod cli_house;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use cli_house::{House, Output, output};

fn scan(house: &House, more: &[&str]) -> Output {
    let mut c = house.forebay();
    c.args(["scan", "--profile", "replace.toml", "--format", "json", "text"]).args(more);
    output(c, b"")
}

fn house() -> House {
    let house = House::new();
    house.write("text", &format!("one {} two\n", house.value(1)));
    house
}

fn file(house: &House) -> PathBuf {
    let mut files = fs::read_dir(house.cache()).expect("a folder").map(|e| e.expect("an entry").path());
    let file = files.next().expect("a file");
    assert_eq!(files.next(), None, "one profile, one file, and nothing left beside it");
    file
}

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o777
}

#[test]
fn the_second_run_finds_the_same() {
    let house = house();
    let first = scan(&house, &[]);
    assert_eq!((first.code, first.err.as_str()), (1, ""));
    let kept = file(&house);
    assert_eq!((mode(&kept), mode(&house.cache())), (0o600, 0o700));
    let written = fs::metadata(&kept).expect("there").modified().expect("a time");
    let second = scan(&house, &[]);
    assert_eq!((second.code, &second.out, second.err.as_str()), (1, &first.out, ""));
    assert_eq!(fs::metadata(&kept).expect("there").modified().expect("a time"), written, "not written again");
}

#[test]
fn without_a_cache_nothing_is_kept() {
    let house = house();
    assert_eq!(scan(&house, &["--no-cache"]).code, 1);
    assert!(!house.cache().exists());
}

#[test]
fn what_a_killed_writer_left_is_removed() {
    let house = house();
    assert_eq!(scan(&house, &[]).code, 1);
    let kept = file(&house);
    let (left, young) = (kept.with_extension("new-4194305"), kept.with_extension("new-4194306"));
    for file in [&left, &young] {
        fs::write(file, b"half").expect("written");
    }
    let hour = std::time::Duration::from_secs(3600);
    let old = std::time::SystemTime::now() - hour;
    fs::File::options().write(true).open(&left).and_then(|f| f.set_modified(old)).expect("aged");
    fs::write(&kept, b"damaged, so that it is written again").expect("written");
    assert_eq!(scan(&house, &[]).code, 1);
    assert_eq!((left.exists(), young.exists()), (false, true));
}

#[test]
fn a_cache_that_has_no_place_is_told() {
    let house = house();
    std::os::unix::fs::symlink("/nowhere/at/all", house.cache()).expect("linked");
    let scanned = scan(&house, &[]);
    assert_eq!(scanned.code, 1);
    assert!(scanned.err.contains("cannot be kept") && scanned.err.contains("--no-cache"), "{}", scanned.err);
}

#[test]
fn a_file_that_cannot_be_trusted_is_told_and_replaced() {
    let house = house();
    let first = scan(&house, &[]);
    let kept = file(&house);
    let good = fs::read(&kept).expect("readable");
    let untrusted: [(&str, &dyn Fn()); 3] = [
        ("damaged", &|| fs::write(&kept, &good[..good.len() / 2]).expect("written")),
        ("no rule cache", &|| fs::write(&kept, b"something else").expect("written")),
        ("may write to it", &|| fs::set_permissions(&kept, fs::Permissions::from_mode(0o620)).expect("set")),
    ];
    for (why, spoil) in untrusted {
        spoil();
        let again = scan(&house, &[]);
        assert_eq!((again.code, &again.out), (1, &first.out), "{why}");
        assert!(again.err.contains("the rule cache") && again.err.contains(why), "{why}: {}", again.err);
        assert_eq!((fs::read(&kept).expect("readable"), mode(&kept)), (good.clone(), 0o600), "{why}");
    }
    // A folder that others may write to is not written to.
    fs::set_permissions(house.cache(), fs::Permissions::from_mode(0o777)).expect("set");
    let again = scan(&house, &[]);
    assert_eq!((again.code, &again.out), (1, &first.out));
    assert!(again.err.contains("may write to its folder"), "{}", again.err);
}

#[test]
fn a_changed_pack_is_not_found_in_the_old_file() {
    let house = house();
    assert_eq!(scan(&house, &[]).code, 1);
    let changed = fs::read_to_string(house.path("pack.toml")).expect("readable");
    house.write(
        "pack.toml",
        &changed.replace("{24}", "{23}").replace("alnum*24", "alnum*23").replace("*23} b\",", "*22} b\","),
    );
    assert_eq!(scan(&house, &[]).code, 0, "the value is one letter too long now");
}
