//! Entry of the fuzz target of SCL: octets in, claims checked.

use scl::view::View;
use scl::{Document, Error};

/// Reads octets as a file, with its data models and without; returns true if it is one. Checks that
/// errors have a place in the file, and that whatever was read makes publishers and MMS objects, or is
/// refused.
pub(crate) fn scl(octets: &[u8]) -> bool {
    let lines = octets.iter().filter(|octet| **octet == b'\n').count() + 1;
    let check = |error: &Error| {
        assert!(!error.reason.is_empty());
        let place = error.place.map_or((1, 1), |place| (place.line, place.column));
        assert!((1..=lines).contains(&place.0), "{error}");
        assert!((1..=octets.len() + 1).contains(&place.1), "{error}");
    };
    let publishers = Document::read_publishers(octets);
    if let Err(error) = &publishers {
        check(error);
    }
    match Document::read(octets) {
        Ok(document) => {
            // What a file with its models has, it has without them.
            assert!(publishers.is_ok());
            objects(&document);
            true
        }
        Err(error) => {
            check(&error);
            false
        }
    }
}

/// Goes over the publishers and MMS objects of a file.
fn objects(document: &Document) {
    for publisher in document.publishers() {
        assert!(!publisher.reference().is_empty());
        if publisher.data_set().is_some() {
            assert!(publisher.data_set_reference().is_some());
        }
    }
    for point in document.ieds.iter().flat_map(|ied| &ied.access_points) {
        let Ok(view) = View::of(point) else { continue };
        let (mut lists, mut leaves) = (0, 0);
        for domain in &view.domains {
            for list in &domain.lists {
                lists += 1;
                if let Some(shapes) = view.members(&domain.name, &list.name) {
                    assert_eq!(shapes.len(), list.members.len());
                    shapes.iter().for_each(|shape| {
                        assert!(shape.data_octets() > 0);
                        let _ = shape.sample_octets();
                    });
                }
            }
            leaves += domain.variables.iter().map(|it| it.shape.leaves()).sum::<usize>();
        }
        assert!(leaves <= view.leaves(), "{lists} lists");
    }
}
